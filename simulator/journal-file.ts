/** Writes the request journal to an NDJSON file. Each line is written before the next request is handled. */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { JournalEntry } from './requests/journal.ts';

export interface JournalFile {
  write(entry: JournalEntry): void;
  close(): void;
}

/** Creates the journal file. Overwrites an existing file. */
export function openJournal(file: string): JournalFile {
  const descriptor = openSync(file, 'w');
  return {
    write: (entry) => {
      writeSync(descriptor, `${JSON.stringify(entry)}\n`);
    },
    close: () => closeSync(descriptor),
  };
}
