package api

import "regexp"

var expiresIn = regexp.MustCompile(`"expires_in":\d+`)
