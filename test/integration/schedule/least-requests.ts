/**
 * Minimum number of requests of a run with one page of messages. The run has two search jobs: one for the messages, and one that
 * checks them. Each job is created, polled, read and deleted.
 */
export const leastPerRun = 8;
