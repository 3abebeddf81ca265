"""The group coordinator: committed offsets, kinds of groups, and operators' requests about groups."""
