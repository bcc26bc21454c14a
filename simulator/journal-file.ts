/** Writes the request journal to an NDJSON file. Each line is written before the next request is handled. */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { JournalEntry } from './requests/journal.ts';

export interface JournalFile {
  write(entry: JournalEntry): void;
  close(): void;
}

/** Creates the journal file. Overwrites an existing file. Calls `failed` with each error of a later write. */
export function openJournal(file: string, failed: (error: unknown) => void): JournalFile {
  const descriptor = openSync(file, 'w');
  return {
    write: (entry) => {
      try {
        writeSync(descriptor, `${JSON.stringify(entry)}\n`);
      } catch (error) {
        failed(error);
      }
    },
    close: () => closeSync(descriptor),
  };
}
