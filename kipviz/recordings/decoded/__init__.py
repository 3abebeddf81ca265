"""What internal topics and the metadata log say."""
