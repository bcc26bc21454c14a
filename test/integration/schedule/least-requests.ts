/**
 * Least requests of a run with one page of messages: a search job for messages and one for the digest. Each of the two is created, polled,
 * read and deleted.
 */
export const leastPerRun = 8;
