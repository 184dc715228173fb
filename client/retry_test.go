package client

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfterIsSecondsOrADateAndNeverOutOfBounds(t *testing.T) {
	now := time.Date(2027, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]int64{
		"": 0, "7": 7, "-1": 0, "soon": 0, "99999999": retryAfterSecsMax,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
}
