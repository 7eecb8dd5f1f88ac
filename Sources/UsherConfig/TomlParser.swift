import CToml

extension TomlTable {
  /// The maximum size of a configuration file in bytes.
  package static let maxFileBytes = 1_048_576

  /// Parses a TOML 1.0 document.
  ///
  /// The bytes may be arbitrary: invalid UTF-8, control characters, integers beyond 64 bits, values
  /// nested deeper than 16 and files over ``maxFileBytes`` throw an error and never trap.
  /// - Parameter file: The name of the document in positions; no file is opened.
  package static func parse(_ bytes: [UInt8], file: String) throws(ConfigError) -> TomlTable {
    guard bytes.count <= maxFileBytes else {
      let whole = SourcePosition(file: file, line: 0, column: 0)
      throw ConfigError([
        ConfigProblem(whole, key: "", "the file is larger than \(maxFileBytes) bytes")
      ])
    }
    let builder = TreeBuilder(file: file)
    var failure = usher_toml_failure()
    let understood = bytes.withUnsafeBytes { text in
      usher_toml_read(
        text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count,
        { context, event in
          guard let context, let event else { return }
          Unmanaged<TreeBuilder>.fromOpaque(context).takeUnretainedValue().handle(event.pointee)
        }, Unmanaged.passUnretained(builder).toOpaque(), &failure)
    }
    guard understood else {
      throw ConfigError([
        ConfigProblem(builder.position(failure.position), key: "", message(of: failure))
      ])
    }
    return builder.root
  }

  /// Returns the parser's message with a lower-case first letter, as in all messages of the daemon.
  private static func message(of failure: usher_toml_failure) -> String {
    let text = withUnsafeBytes(of: failure.message) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    let prefix = "Error while "
    guard text.hasPrefix(prefix) else { return text.prefix(1).lowercased() + text.dropFirst() }
    return String(text.dropFirst(prefix.count))
  }
}

/// Builds the tree of a document from the events of the TOML parser, which is written in C++.
private final class TreeBuilder {
  private enum Open {
    case table([TomlTable.Entry])
    case array([TomlNode])
  }

  private struct Frame {
    var open: Open
    var key: (name: String, position: SourcePosition?)?
    var position: SourcePosition?
  }

  private let file: String
  private var frames: [Frame] = []
  private(set) var root = TomlTable()

  init(file: String) { self.file = file }

  func handle(_ event: usher_toml_event) {
    switch event.kind {
    case USHER_TOML_TABLE: open(.table([]), event)
    case USHER_TOML_ARRAY: open(.array([]), event)
    case USHER_TOML_END: close()
    case USHER_TOML_STRING: add(.string(text(event.text, event.text_length)), event)
    case USHER_TOML_INTEGER: add(.integer(event.integer), event)
    case USHER_TOML_FLOAT: add(.float(event.real), event)
    case USHER_TOML_BOOLEAN: add(.boolean(event.integer != 0), event)
    default: add(.date, event)
    }
  }

  func position(_ place: usher_toml_position) -> SourcePosition {
    SourcePosition(file: file, line: Int(place.line), column: Int(place.column))
  }

  private func open(_ open: Open, _ event: usher_toml_event) {
    frames.append(Frame(open: open, key: key(event), position: position(event.position)))
  }

  private func close() {
    guard let frame = frames.popLast() else { return }
    switch frame.open {
    case .array(let nodes):
      attach(TomlNode(.array(nodes), at: frame.position), frame.key)
    case .table(let entries):
      let table = TomlTable(entries.sorted { Self.order($0) < Self.order($1) })
      if frames.isEmpty { root = table }
      attach(TomlNode(.table(table), at: frame.position), frame.key)
    }
  }

  private func add(_ value: TomlValue, _ event: usher_toml_event) {
    attach(TomlNode(value, at: position(event.position)), key(event))
  }

  private func attach(_ node: TomlNode, _ key: (name: String, position: SourcePosition?)?) {
    guard let last = frames.indices.last else { return }
    switch frames[last].open {
    case .array(var nodes):
      frames[last].open = .array([])
      nodes.append(node)
      frames[last].open = .array(nodes)
    case .table(var entries):
      frames[last].open = .table([])
      entries.append(TomlTable.Entry(key?.name ?? "", node, at: key?.position))
      frames[last].open = .table(entries)
    }
  }

  private func key(_ event: usher_toml_event) -> (name: String, position: SourcePosition?)? {
    guard event.has_key else { return nil }
    return (text(event.key, event.key_length), position(event.key_position))
  }

  private func text(_ start: UnsafePointer<CChar>?, _ length: Int) -> String {
    let bytes = UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : length)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func order(_ entry: TomlTable.Entry) -> (Int, Int) {
    (entry.keyPosition?.line ?? 0, entry.keyPosition?.column ?? 0)
  }
}
