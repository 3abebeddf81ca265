"""Commands that search or study: interleavings, outcomes, ablations, repairs, landscapes and reviews."""
