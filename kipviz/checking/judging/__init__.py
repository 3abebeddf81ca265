"""Many runs or whole searches against the promises: verdicts, outcomes, repairs, coverage."""
