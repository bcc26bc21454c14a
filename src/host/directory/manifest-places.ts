/** Places in directories of manifests, and what was found or remembered of them. */
import { join } from 'node:path';
import type { Problem } from './problem.ts';
import type { TextPrint } from './text-print.ts';

/** Where something stands, or stood when it was read last. */
export interface Place {
  readonly directory: string;
  /** The file, or a folder, relative to the directory. */
  readonly manifest: string;
}

/** What is remembered of a file that was read to its end. */
export interface FileMemory {
  /** Identities of the resources, Secrets and settings in it that could be used. */
  readonly ids: readonly string[];
  /** Identities of those that could not. */
  readonly refused: readonly string[];
  readonly print: TextPrint;
}

/** A manifest that cannot be used and has no former version that could stand for it. */
export interface Hold extends Place {
  /** Whether the operator's settings may be in it, which pause exports, too. */
  readonly mayPause: boolean;
  readonly problem: Problem;
}

/** One place that says something. */
export interface FoundSettings extends Place {
  /** Who or what pauses; undefined where it does not. */
  readonly pausedBy: string | undefined;
  /** A ConfigMap among the manifests, a request by a command, or a file that cannot be read and may contain the ConfigMap. */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

/** The identity of the settings in a file. */
export function identifySettings({ directory, manifest }: Place): string {
  return `settings/${join(directory, manifest)}`;
}
