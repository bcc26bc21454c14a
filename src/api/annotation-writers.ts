/** Reads writer and time of logfleet's annotations from `metadata.managedFields`, for the history of a rollout. */
import { isRecord } from '../base/record.ts';
import { annotations } from './annotations.ts';
import type { AnnotationWriter, AnnotationWriters } from './kinds.ts';

/**
 * Maximum length, in characters, of a writer's name in the status. The API server limits the names of field managers to
 * the same length.
 */
const maxManagerLength = 128;
const ownAnnotations: readonly string[] = Object.values(annotations);

/**
 * Returns the writer of each logfleet annotation. If several field managers wrote an annotation, returns the one that
 * wrote it first.
 */
export function readAnnotationWriters(managedFields: unknown): AnnotationWriters | undefined {
  if (!Array.isArray(managedFields)) return undefined;
  const writers: Record<string, AnnotationWriter> = {};
  for (const entry of managedFields.filter(isRecord)) {
    const writer = writerOf(entry);
    for (const name of ownedAnnotations(entry)) {
      const known = writers[name];
      if (!known || isEarlier(writer, known)) writers[name] = writer;
    }
  }
  return Object.keys(writers).length === 0 ? undefined : writers;
}

function writerOf({ manager, time }: Record<string, unknown>): AnnotationWriter {
  const atMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return {
    by: typeof manager === 'string' && manager !== '' ? manager.slice(0, maxManagerLength) : undefined,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
  };
}

function ownedAnnotations({ fieldsV1 }: Record<string, unknown>): readonly string[] {
  const metadata = isRecord(fieldsV1) ? fieldsV1['f:metadata'] : undefined;
  const owned = isRecord(metadata) ? metadata['f:annotations'] : undefined;
  return isRecord(owned) ? ownAnnotations.filter((name) => Object.hasOwn(owned, `f:${name}`)) : [];
}

function isEarlier(left: AnnotationWriter, right: AnnotationWriter): boolean {
  return (left.atMs ?? Number.POSITIVE_INFINITY) < (right.atMs ?? Number.POSITIVE_INFINITY);
}
