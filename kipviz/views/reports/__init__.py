"""Results as pages: verdicts, studies, reviews, ledgers, lists."""
