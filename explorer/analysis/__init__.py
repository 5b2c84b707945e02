"""Questions asked of a trace."""
