"""Many runs or whole searches judged against the properties: verdicts, outcomes, repairs, coverage."""
