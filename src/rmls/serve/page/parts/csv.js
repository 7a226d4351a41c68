// Tables as text: commas, tabs or semicolons, quotes, line breaks in cells, any usual encoding.
const DELIMITERS = [",", "\t", ";", "|"];
const NAMES =
  /^(text|texts|body|content|abstract|description|document|title|summary|note|comment|message|sentence)s?$/i;

/** Return the text of a file and how it was encoded. */
export function decode(bytes) {
  const [a, b, c] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf)
    return { text: strictly("utf-8", bytes.subarray(3)), bom: true };
  if (a === 0xff && b === 0xfe) return { text: strictly("utf-16le", bytes.subarray(2)), bom: true };
  if (a === 0xfe && b === 0xff) return { text: strictly("utf-16be", bytes.subarray(2)), bom: true };
  try {
    return { text: strictly("utf-8", bytes), bom: false };
  } catch {
    // Spreadsheets on Windows still save this one, and it can decode anything.
    return { text: new TextDecoder("windows-1252").decode(bytes), bom: false };
  }
}

const strictly = (encoding, bytes) =>
  new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);

/** Return the delimiter that cuts the first records into the same number of cells, the more the better. */
export function findDelimiter(text) {
  let best = [",", 0];
  for (const delimiter of DELIMITERS) {
    const rows = parse(text.slice(0, 100_000), delimiter, 20);
    const width = rows[0]?.length ?? 0;
    const equal = rows.filter((row) => row.length === width).length;
    const worth = width > 1 ? (width * equal * equal) / (rows.length * rows.length) : 0;
    if (worth > best[1]) best = [delimiter, worth];
  }
  return best[0];
}

/** Return the line break that a text uses first. */
export const findNewline = (text) => /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";

/** Return the records of a text as arrays of cells; lines without anything are left out. */
export function parse(text, delimiter, limit = Infinity) {
  const rows = [];
  let row = [];
  let place = 0;
  const plain = new RegExp(`[^${delimiter === "\t" ? "\\t" : `\\${delimiter}`}\\r\\n]*`, "y");
  while (place < text.length && rows.length < limit) {
    let cell;
    if (text[place] === '"') [cell, place] = quoted(text, place + 1);
    else cell = "";
    // Behind a closing quote nothing should come; if it does, it belongs to the cell.
    plain.lastIndex = place;
    cell += plain.exec(text)[0];
    place = plain.lastIndex;
    row.push(cell);
    if (text[place] === delimiter) {
      place += 1;
      if (place < text.length) continue;
      row.push("");
    }
    if (text[place] === "\r" && text[place + 1] === "\n") place += 1;
    place += 1;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  return rows;
}

function quoted(text, start) {
  let cell = "";
  for (let from = start; ;) {
    const end = text.indexOf('"', from);
    if (end < 0) return [cell + text.slice(from), text.length];
    cell += text.slice(from, end);
    if (text[end + 1] !== '"') return [cell, end + 1];
    cell += '"';
    from = end + 2;
  }
}

/** Return records as text; what is read again is what was written. */
export function write(rows, { delimiter = ",", newline = "\r\n", bom = false } = {}) {
  const lines = rows.map(
    (row) => row.map((cell) => quote(String(cell), delimiter, row.length)).join(delimiter) + newline,
  );
  return (bom ? "\ufeff" : "") + lines.join("");
}

function quote(cell, delimiter, width) {
  const risky = cell.includes(delimiter) || /["\r\n]|^\s|\s$/.test(cell) || (width === 1 && cell === "");
  return risky ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Return the place of the column that holds the texts: one named so, or the one with the longest cells. */
export function guessText(header, rows) {
  const named = header.findIndex((name) => NAMES.test(name.trim()));
  const sample = rows.slice(0, 200);
  const lengths = header.map((_, column) => sample.reduce((sum, row) => sum + (row[column]?.length ?? 0), 0));
  const longest = lengths.indexOf(Math.max(...lengths));
  // A column called "title" beside one with ten times the words is not the text.
  return named >= 0 && lengths[named] * 4 >= lengths[longest] ? named : Math.max(0, longest);
}

/** Return a name that no column has yet. */
export function freeName(header, name) {
  const taken = new Set(header.map((other) => other.trim().toLowerCase()));
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}_${number}`;
    if (!taken.has(candidate.toLowerCase())) return candidate;
  }
}
