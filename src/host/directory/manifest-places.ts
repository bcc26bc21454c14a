/** Places of manifests in directories, and what was found or remembered of each file. */
import { join } from 'node:path';
import type { PlacedFinding } from '../../api/finding.ts';
import type { TextPrint } from './text-print.ts';

/** Place of a manifest or of settings at the last reading. */
export interface Place {
  readonly directory: string;
  /** The file, or a folder, relative to the directory. */
  readonly manifest: string;
}

/** Content of a file at its last complete reading. */
export interface FileMemory {
  /** Identities of the resources, Secrets and settings in it that could be used. */
  readonly ids: readonly string[];
  /** Identities of the refused resources, Secrets and settings in it. */
  readonly refused: readonly string[];
  readonly print: TextPrint;
}

/** A manifest that cannot be used and has no former version that could stand for it. */
export interface Hold extends Place {
  /** True if it may contain the operator's settings, which pause exports, too. */
  readonly mayPause: boolean;
  readonly problem: PlacedFinding;
}

/** Settings of the operator at one place. */
export interface FoundSettings extends Place {
  /** Cause of the pause, as a clause after "paused by". Undefined if these settings do not pause. */
  readonly pausedBy: string | undefined;
  /** A ConfigMap among the manifests, a request by a command, or a file that cannot be read and may contain the ConfigMap. */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

/** The identity of the settings in a file. */
export function identifySettings({ directory, manifest }: Place): string {
  return `settings/${join(directory, manifest)}`;
}
