/** Generated messages. A message depends only on the settings and its rank (the number of newer messages). */
import { assert } from '../../../src/base/assert.ts';
import type { Piece } from '../../base/piece-memory.ts';
import type { ScalarValue } from '../../query/numeric.ts';
import type { MessageRow } from '../../query/row.ts';
import { blockId } from '../message-defaults.ts';
import { MessageIds } from '../message-ids.ts';
import type { RowWriter } from '../message-page.ts';
import { writeBlock, writeNine, writeTime } from './digits.ts';
import { Layouts } from './layouts.ts';
import type { MadeUpSettings } from './made-up-settings.ts';
import { type Template, Templates, varyingFields } from './templates.ts';
import { type MessageBlock, MessageTimeline, rowsPerBlock } from './timeline.ts';

export class MadeUpRows implements RowWriter {
  readonly settings: MadeUpSettings;
  readonly templates: Templates;
  readonly layouts: Layouts;
  readonly timeline: MessageTimeline;
  readonly #ids: MessageIds;

  constructor(settings: MadeUpSettings) {
    this.settings = settings;
    this.templates = new Templates(settings);
    this.layouts = new Layouts(settings, rowsPerBlock(settings), this.templates);
    this.timeline = new MessageTimeline(settings, this.layouts);
    this.#ids = new MessageIds(settings.seed);
  }

  templateOf(rank: number): number {
    return templateIn(this.timeline.block(rank), rank);
  }

  receiptOf(rank: number): number {
    const block = this.timeline.block(rank);
    return block.timeOf(rank) + delayIn(block, rank);
  }

  rawBytesOf(rank: number): number {
    return this.templates.at(this.templateOf(rank)).rawBytes;
  }

  get meanRawBytes(): number {
    return this.layouts.layout(0).rawBytes / this.layouts.rows;
  }

  /**
   * Returns the total text size, in bytes, of the messages with ranks in [from, to). The rank of a message is the
   * number of newer messages.
   */
  rawBytes(from: number, to: number): number {
    const { layouts, templates } = this;
    let bytes = 0;
    for (const { block, blocks, first, end } of this.timeline.stretches(from, to)) {
      for (let next = block; next < block + blocks; next++) bytes += layouts.layout(layouts.numberOf(next)).rawBytes;
      if (blocks > 0) continue;
      const layout = layouts.layout(layouts.numberOf(block));
      for (let entry = first; entry < end; entry++) bytes += templates.at(layout.templates[entry] as number).rawBytes;
    }
    return bytes;
  }

  row(rank: number): MessageRow {
    const block = this.timeline.block(rank);
    return new MadeUpRow(rank, block, this.templates.at(templateIn(block, rank)), this.#ids);
  }

  /**
   * Returns a row that represents all messages of a template. Reading a field whose value differs between these
   * messages throws an error.
   */
  templateRow(template: number, sliceStartMs?: number): MessageRow {
    return new TemplateRow(this.templates.at(template), sliceStartMs);
  }

  bytesOf(rank: number, withRaw: boolean): number {
    const template = this.templates.at(this.templateOf(rank));
    return (withRaw ? template.whole : template.withoutRaw).bytes.length;
  }

  write(rank: number, withRaw: boolean, { bytes: into, view }: Piece, offset: number): number {
    const block = this.timeline.block(rank);
    const template = this.templates.at(templateIn(block, rank));
    const { bytes, idAt, timeAt, receiptAt, blockAt } = withRaw ? template.whole : template.withoutRaw;
    const end = offset + bytes.length;
    if (end > into.length) return -1;
    into.set(bytes, offset);
    const ids = this.#ids;
    ids.shuffle(rank);
    writeNine(view, offset + idAt, ids.high);
    writeNine(view, offset + idAt + 9, ids.low);
    const timeMs = block.timeOf(rank);
    writeTime(view, offset + timeAt, timeMs);
    writeTime(view, offset + receiptAt, timeMs + delayIn(block, rank));
    writeBlock(view, offset + blockAt, block.number);
    return end;
  }
}

function templateIn({ layout, firstRank }: MessageBlock, rank: number): number {
  return layout.templates[rank - firstRank] as number;
}

function delayIn({ layout, firstRank }: MessageBlock, rank: number): number {
  return layout.delaysMs[rank - firstRank] as number;
}

class MadeUpRow implements MessageRow {
  readonly #rank: number;
  readonly #block: MessageBlock;
  readonly #template: Template;
  readonly #ids: MessageIds;

  constructor(rank: number, block: MessageBlock, template: Template, ids: MessageIds) {
    this.#rank = rank;
    this.#block = block;
    this.#template = template;
    this.#ids = ids;
  }

  get messageTimeMs(): number {
    return this.#block.timeOf(this.#rank);
  }

  get receiptTimeMs(): number {
    return this.messageTimeMs + delayIn(this.#block, this.#rank);
  }

  field(lowerName: string): ScalarValue | undefined {
    switch (lowerName) {
      case '_messageid':
        return this.#template.idStart + this.#ids.digits(this.#rank);
      case '_messagetime':
        return this.messageTimeMs;
      case '_receipttime':
        return this.receiptTimeMs;
      case '_blockid':
        return blockId(this.#block.number);
      default:
        return this.#template.fields.get(lowerName);
    }
  }
}

class TemplateRow implements MessageRow {
  readonly #template: Template;
  readonly #sliceStartMs: number | undefined;

  constructor(template: Template, sliceStartMs: number | undefined) {
    this.#template = template;
    this.#sliceStartMs = sliceStartMs;
  }

  get messageTimeMs(): number {
    return this.#sliceStartMs ?? notRead('_messagetime');
  }

  get receiptTimeMs(): number {
    return notRead('_receipttime');
  }

  field(lowerName: string): ScalarValue | undefined {
    return varyingFields.has(lowerName) ? notRead(lowerName) : this.#template.fields.get(lowerName);
  }
}

function notRead(name: string): never {
  assert(false, `${name} is read, but is not declared in reads`);
}
