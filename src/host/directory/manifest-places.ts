/** Places (directory and file) of manifests, and the objects that were found in each file. */
import { join } from 'node:path';
import type { PlacedFinding } from '../../api/finding.ts';
import type { TextPrint } from './text-print.ts';

/** Directory and file of a manifest at the last reading. */
export interface Place {
  readonly directory: string;
  /** Path of the manifest file, or of a folder, relative to its directory. */
  readonly manifest: string;
}

/** Objects that a manifest file contained at its last complete reading. */
export interface FileMemory {
  /** Identities of the valid resources, Secrets and settings in the file. */
  readonly ids: readonly string[];
  /** Identities of the refused (invalid) resources, Secrets and settings in the file. */
  readonly refused: readonly string[];
  readonly print: TextPrint;
}

/**
 * A manifest that cannot be used and was never valid before. It stops all policies from starting upgrades, because
 * nobody knows what it should contain.
 */
export interface Hold extends Place {
  /** True if the unusable manifest may contain the operator's settings. It then pauses exports, too. */
  readonly mayPause: boolean;
  readonly problem: PlacedFinding;
}

/** Operator settings that were found in one file. */
export interface FoundSettings extends Place {
  /** Cause of the pause, as a clause after "paused by". Undefined if these settings do not pause the operator. */
  readonly pausedBy: string | undefined;
  /**
   * Origin of the settings: a ConfigMap among the manifests, a request by a command, or a file that cannot be read and
   * may contain the ConfigMap.
   */
  readonly source: 'manifest' | 'request' | 'unreadable';
}

/** Returns a text that identifies the settings in this file. */
export function identifySettings({ directory, manifest }: Place): string {
  return `settings/${join(directory, manifest)}`;
}
