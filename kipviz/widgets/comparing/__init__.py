"""Runs side by side: which of their steps correspond, and two or more of them stepped together."""
