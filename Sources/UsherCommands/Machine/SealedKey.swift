import UsherCore

/// The master key of the system's daemon as a sealed systemd credential, which only this host can
/// open.
struct SealedKey {
  static let name = "usherd.master-key"
  private static let limit = Duration.seconds(60)

  let environment: CommandEnvironment
  let console: Console

  var path: String { "\(environment.directories.sealed)/\(Self.name)" }

  enum Finding: Equatable {
    case absent
    case opens(MasterKeyBytes)
    /// The credential cannot be opened on this host. The value is the reason, usually the message
    /// of systemd-creds.
    case closed(String)
  }

  /// Looks for the credential and tries to open it.
  ///
  /// - Throws: ``CommandFailure`` if systemd-creds cannot be run.
  func find() async throws -> Finding {
    guard try Durable.status(path) != nil else { return .absent }
    return try await opened(path)
  }

  private func opened(_ path: String) async throws -> Finding {
    let ending = try await creds("decrypt", path, "-", input: Secret(""))
    guard ending.status == 0 else { return .closed(ending.errorSummary) }
    guard let key = MasterKeyBytes(ending.output) else {
      return .closed("it does not contain a master key")
    }
    return .opens(key)
  }

  /// Seals a key, checks that the result opens again, and installs it as the credential.
  ///
  /// - Throws: ``CommandFailure``; then no credential was installed.
  func seal(_ key: MasterKeyBytes) async throws {
    let ending = try await creds("encrypt", "-", "-", input: key.hexadecimal)
    guard ending.status == 0 else {
      throw CommandFailure("systemd-creds cannot seal: \(ending.errorSummary)")
    }
    for line in ending.errors.split(separator: "\n") {
      console.printMessage("systemd-creds: \(line)")
    }
    try Durable.makeDirectory(environment.directories.sealed)
    let draft = Durable.draft(of: path)
    do {
      let file = try Durable.recreateFile(draft)
      try file.write(ending.output)
      try file.sync()
      switch try await opened(draft) {
      case .opens(key): break
      case .opens, .absent: throw CommandFailure("the sealed key opens as another key")
      case .closed(let reason):
        throw CommandFailure("the sealed key cannot be opened again: \(reason)")
      }
      // An existing credential must not be replaced: it may be the only key to a database.
      try Durable.link(draft, path)
      try Durable.remove(draft)
    } catch {
      try? Durable.remove(draft)
      throw error
    }
  }

  /// Renames a credential that this host cannot open, so that the service starts without it.
  func moveAside() throws {
    let name = try FreeName.next(to: path, "unreadable")
    try Durable.rename(path, name)
    console.printMessage("the sealed key that cannot be opened on this host was renamed to \(name)")
  }

  private func creds(_ verb: String, _ arguments: String..., input: Secret) async throws
    -> ToolEnding
  {
    try await environment.tools.run(
      environment.tools.find("systemd-creds"), [verb, "--name=\(Self.name)"] + arguments,
      input: input, within: Self.limit)
  }
}

/// Finds a name for a file that is moved away: the first unused one of `PATH.WORD`, `PATH.WORD-2`,
/// …
enum FreeName {
  /// Returns the first name that is not used.
  ///
  /// - Parameter companions: Suffixes of related files, whose names must not be used either.
  static func next(to path: String, _ suffix: String, _ companions: String...) throws -> String {
    let isFree = { (name: String) in
      try ([""] + companions).allSatisfy { try Durable.status(name + $0) == nil }
    }
    guard let name = try names(nextTo: path, suffix).first(where: isFree) else {
      throw CommandFailure("there are too many files \(path).\(suffix)-N; remove some of them")
    }
    return name
  }

  static func names(nextTo path: String, _ suffix: String) -> some Sequence<String> {
    (1...10_000).lazy.map { $0 == 1 ? "\(path).\(suffix)" : "\(path).\(suffix)-\($0)" }
  }
}

/// The bytes of a master key while usherctl moves them between the key file and the credential.
struct MasterKeyBytes: Equatable, CustomStringConvertible {
  static let length = 32

  private let bytes: [UInt8]

  static func random() -> MasterKeyBytes { MasterKeyBytes(exactly: SystemEntropy().bytes(length)) }

  private init(exactly bytes: [UInt8]) { self.bytes = bytes }

  /// Parses 32 bytes, or 64 hexadecimal digits with an optional newline; nil for anything else.
  init?(_ content: [UInt8]) {
    if content.count == Self.length {
      bytes = content
      return
    }
    let digits = (content.last == UInt8(ascii: "\n") ? content.dropLast() : content[...])
      .map { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count == 2 * Self.length, digits.allSatisfy({ $0 != nil }) else { return nil }
    let values = digits.compactMap(\.self)
    bytes = stride(from: 0, to: values.count, by: 2).map {
      UInt8(values[$0] << 4 | values[$0 + 1])
    }
  }

  /// The key in the form in which it is sealed: as hexadecimal text, so that an unsealed key is
  /// easy to recognize.
  var hexadecimal: Secret { Secret(bytes.hexadecimal) }

  var description: String { "<secret>" }
}
