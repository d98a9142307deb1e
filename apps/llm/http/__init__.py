"""HTTP to servers whose URLs users enter: address checks, timeouts, cancellation, retries."""
