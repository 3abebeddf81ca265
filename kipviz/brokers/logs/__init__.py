"""The leader of a partition: its log, what is appended, what is forgotten, and who adds partitions to the transaction
for it.
"""
