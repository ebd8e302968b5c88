package config

// Planned lists the keys that nothing reads yet.
func Planned() []string { return planned }
