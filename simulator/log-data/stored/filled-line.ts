/**
 * Computes default values for fields that are missing in a line of a log file. The values depend only on the position
 * of the line.
 */
import { Buffer } from 'node:buffer';
import { drawFor } from '../../base/chance.ts';
import { blockId, defaultFormat } from '../message-defaults.ts';
import { MessageIds } from '../message-ids.ts';
import type { LogLine } from './log-line.ts';

export interface LinePlace {
  readonly file: string;
  /** Number of the line in its file, counted from 1. */
  readonly number: number;
  /** Index of the message among the messages of all files, counted from 0. */
  readonly index: number;
}

const messagesPerBlock = 1_000;
const ids = new MessageIds(0);

/** Returns the value of a field in a line. If the line does not have the field, returns the field's default value. */
export function filledIn(line: LogLine, place: LinePlace, name: string): string {
  const given = line.given.get(name);
  if (given !== undefined) return given;
  const { file, number, index } = place;
  switch (name) {
    case '_messageid':
      return `${index % 2 === 0 ? '' : '-'}1${ids.digits(index)}`;
    case '_sourceid':
      return idOf('source', filledIn(line, place, '_source'));
    case '_sourceName':
      return file.slice(file.lastIndexOf('/') + 1);
    case '_sourceHost':
      return 'localhost';
    case '_sourceCategory':
    case '_collector':
      return 'log-data';
    case '_format':
      return defaultFormat;
    case '_size':
      return String(Buffer.byteLength(filledIn(line, place, '_raw')));
    case '_messagetime':
      return String(line.messageTimeMs);
    case '_receipttime':
      return String(line.receiptTimeMs);
    case '_messagecount':
      return String(number);
    case '_source':
      return file;
    case '_collectorId':
      return idOf('collector', filledIn(line, place, '_collector'));
    case '_blockid':
      return blockId(Math.floor(index / messagesPerBlock));
    default:
      return '';
  }
}

/** Returns a nine-digit id that depends only on the name. */
function idOf(kind: string, name: string): string {
  return String(100_000_000 + Math.floor(drawFor(0, kind, name) * 900_000_000));
}
