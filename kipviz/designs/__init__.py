"""The designs: the options of every slot, and the named designs made of them."""
