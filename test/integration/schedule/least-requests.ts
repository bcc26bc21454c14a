/**
 * Minimum number of requests of a run with one page of messages. It has two search jobs, one for the messages and one
 * to check them, each of which is created, polled, read and deleted.
 */
export const leastPerRun = 8;
