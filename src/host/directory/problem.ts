/** Problems with manifest files, and the places in which resources and settings were found. */
import { join } from 'node:path';
import type { TextPrint } from './text-print.ts';

export interface Problem {
  /** A manifest with warnings is used, but probably not as intended. */
  readonly severity: 'error' | 'warning';
  /** File path, which begins with the directory as it was given. */
  readonly file: string;
  /** Line and column count from 1. Both are 1 for a problem of the whole file. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Renders `file:line:column: message`, the format of `logfleet validate`. */
export function renderProblem({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`;
}

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
