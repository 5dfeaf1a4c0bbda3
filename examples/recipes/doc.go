// Package recipes has the code of docs/recipes.md: limits in the workers of queues, and in clients
// of language models. It is a module of its own, because it needs their libraries.
package recipes
