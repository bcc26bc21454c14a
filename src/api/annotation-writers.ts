/**
 * Who wrote an annotation of logfleet's, and when, so that a rollout's history can say what people did in it.
 *
 * Hosts fill `metadata.annotationWriters` while they decode a resource, and keep no more of its managed fields than that: a few
 * short members, and only of annotations that are logfleet's own.
 */
import { annotations } from './annotations.ts';
import type { ObjectMeta } from './kinds.ts';

export interface AnnotationWriter {
  /** In a cluster the field manager, in a directory the user of the operating system; undefined where nobody says. */
  readonly by: string | undefined;
  /** Wall clock of the API server, or of who asked; undefined where nobody says. */
  readonly atMs: number | undefined;
}

export type AnnotationWriters = Readonly<Record<string, AnnotationWriter>>;

/** The limit of `by` in status. The API server's own limit for a manager is the same. */
const maxManagerLength = 128;
const ownAnnotations: readonly string[] = Object.values(annotations);

/** Undefined where the annotation is not there, or where the host cannot say. */
export function annotationWriter(
  metadata: Pick<ObjectMeta, 'annotationWriters'>,
  annotation: string,
): AnnotationWriter | undefined {
  return metadata.annotationWriters?.[annotation];
}

/**
 * What `metadata.managedFields` of an API server says of logfleet's annotations; undefined where that is nothing.
 *
 * An entry's time is when its manager last changed any of its fields. Where several managers own an annotation, all of them wrote
 * the value that it has; the first of them is who made it so.
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
