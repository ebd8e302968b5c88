// Package e2e proves forcing and recording on a real server: vLLM on a CPU, with
// the plug-in of integrations/vllm and tiny models with random weights. It has
// tests only, under the build tag e2e; `make e2e` runs them. README.md says what
// they need and how a test gets a server (Server). Nothing else may import it.
package e2e
