/** The journal as NDJSON. Each line is in the file before the next request is looked at, so that it can be read meanwhile. */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { JournalEntry } from './journal.ts';

export interface JournalFile {
  write(entry: JournalEntry): void;
  close(): void;
}

/** Begins the file anew. */
export function openJournal(file: string): JournalFile {
  const descriptor = openSync(file, 'w');
  return {
    write: (entry) => {
      writeSync(descriptor, `${JSON.stringify(entry)}\n`);
    },
    close: () => closeSync(descriptor),
  };
}
