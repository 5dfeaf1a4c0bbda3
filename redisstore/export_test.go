package redisstore

// Open is New with what only tests set.
var Open = open
