"""Requests for several partitions: each partition's leader answers its part, in one response of the broker.

Beside them are the requests about configs and the lookup of topics.
"""
