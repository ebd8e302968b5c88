// Command reprise replays LLM serving workloads exactly.
//
// Each command has a file of its own: its flags, its usage text and one call into
// the library. What a command finds out goes to standard output, what it has to
// tell a person to standard error. Only this package prints or exits.
package main
