// Package client is the public Go client of Rowlock and the one place where the wire types of
// its HTTP API are written down. The server, the races and the load runs use these same types.
//
// Every type here is the JSON of a request or an answer under /v1: snake_case, instants RFC 3339
// in UTC, money as integer minor units beside one currency. Clients ignore members they do not
// know; the server refuses unknown ones.
//
// A Client is safe for concurrent use.
package client
