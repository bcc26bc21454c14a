/** A destination in memory: what the others promise, and nothing else. */
import type { Destination, FileUpload, ListedObject } from '../../../src/destination/destination.ts';
import { destinationError } from '../../../src/destination/destination-error.ts';
import { folderSegments, nameSegments } from '../../../src/destination/object-name.ts';

export class MemoryDestination implements Destination {
  readonly url = 'memory://test';
  readonly objects = new Map<string, Uint8Array>();
  /** Of the next create, the object is written and 'exists' comes back, as after an answer that was lost. */
  losesAnswer = false;

  async read(name: string): Promise<Uint8Array | undefined> {
    return this.objects.get(nameSegments(name).join('/'));
  }

  async create(name: string, content: Uint8Array): Promise<'created' | 'exists'> {
    nameSegments(name);
    if (this.objects.has(name)) return 'exists';
    this.objects.set(name, Uint8Array.from(content));
    const lost = this.losesAnswer;
    this.losesAnswer = false;
    return lost ? 'exists' : 'created';
  }

  async open(name: string): Promise<FileUpload> {
    nameSegments(name);
    const chunks: Uint8Array[] = [];
    return {
      write: async (chunk) => void chunks.push(Uint8Array.from(chunk)),
      finish: async () => void this.objects.set(name, Buffer.concat(chunks)),
      abort: async () => {},
    };
  }

  async *stream(name: string): AsyncIterable<Uint8Array> {
    const content = await this.read(name);
    if (!content) throw destinationError('absent', `there is no ${name}`);
    for (let start = 0; start < content.length; start += 7) yield content.subarray(start, start + 7);
  }

  async *list(folder: string): AsyncIterable<ListedObject> {
    const prefix = folderSegments(folder)
      .map((segment) => `${segment}/`)
      .join('');
    for (const [name, content] of [...this.objects]) {
      if (name.startsWith(prefix)) yield { name, bytes: content.length };
    }
  }

  async remove(name: string): Promise<void> {
    this.objects.delete(name);
  }

  async abortLeftovers(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {}
}
