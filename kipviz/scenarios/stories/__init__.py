"""The stories, one file per KIP; `scenarios.library` knows them all."""
