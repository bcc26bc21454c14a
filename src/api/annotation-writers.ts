/**
 * Finds out from `metadata.managedFields` who wrote logfleet's annotations, and when. The history of a rollout shows
 * the writers and times.
 */
import { annotations } from './annotations.ts';
import type { AnnotationWriter, AnnotationWriters } from './kinds.ts';

/**
 * Maximum length, in characters, of a writer's name in the status. The API server limits the names of field managers to
 * the same length.
 */
const maxManagerLength = 128;
const ownAnnotations: readonly string[] = Object.values(annotations);

/** Entry of `metadata.managedFields`: a field manager and the fields that it wrote. */
export interface ManagedFields {
  readonly manager?: string | undefined;
  readonly time?: string | undefined;
  readonly fieldsV1?: { readonly 'f:metadata'?: { readonly 'f:annotations'?: Readonly<Record<string, object>> } };
}

/**
 * Returns the writer of each logfleet annotation. If several field managers wrote an annotation, returns the one that
 * wrote it first.
 */
export function readAnnotationWriters(managedFields: readonly ManagedFields[] = []): AnnotationWriters | undefined {
  const writers: Record<string, AnnotationWriter> = {};
  for (const { manager, time = '', fieldsV1 } of managedFields) {
    const atMs = Date.parse(time);
    const writer = { by: manager?.slice(0, maxManagerLength), atMs: Number.isNaN(atMs) ? undefined : atMs };
    const written = fieldsV1?.['f:metadata']?.['f:annotations'] ?? {};
    for (const name of ownAnnotations.filter((each) => Object.hasOwn(written, `f:${each}`))) {
      const known = writers[name];
      if (!known || isEarlier(writer, known)) writers[name] = writer;
    }
  }
  return Object.keys(writers).length === 0 ? undefined : writers;
}

function isEarlier(left: AnnotationWriter, right: AnnotationWriter): boolean {
  return (left.atMs ?? Number.POSITIVE_INFINITY) < (right.atMs ?? Number.POSITIVE_INFINITY);
}
