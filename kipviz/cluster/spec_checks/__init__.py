"""What a cluster, an application and its program may be: a spec is refused with one sentence."""
