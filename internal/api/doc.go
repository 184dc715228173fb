// Package api is the server: it turns HTTP into calls of inventory and office, and their answers
// into JSON. No rule of selling stands here.
//
// A request passes through one table and one function. The table (routes.go) says for each method
// and pattern who may call it, how long its body may be and what answers it. The function
// (exchange.go) gives the request an id, counts it, refuses load, finds the caller, reads the body
// and runs the handler. A handler returns an error instead of writing one: a single place
// (problem.go) turns it into application/problem+json, by one table from code to status, and each
// request leaves one line in the log, without secrets or personal data.
//
// Bodies are read by one strict function (decode.go): what a client misspelt is refused, never
// ignored. Answers are written by the same library, but holds and problems by hand (text.go), to the
// same bytes. What the domain cannot see, such as the length of a reference, is checked in check.go,
// and everything else by the domain itself.
//
// A Server is safe for concurrent use.
package api
