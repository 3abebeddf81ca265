"""The programs of applications in the stories, and what they break themselves."""
