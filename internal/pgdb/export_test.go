package pgdb

// CheckAfter is how long an idle connection is reused without a ping.
const CheckAfter = checkAfter
