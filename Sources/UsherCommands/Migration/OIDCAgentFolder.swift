import FoundationEssentials
import Glibc
import JSONRPC
import UsherCore

/// What the configuration of oidc-agent says in plain text: the issuers, their public clients, and
/// the names of the accounts. The account files themselves are encrypted and are not read.
///
/// Version 5 has JSON in `issuer.config` and `issuer.config.d`. Earlier versions have one issuer in
/// each line of `issuer.config`, and the public clients in `pubclients.config`.
struct OIDCAgentFolder {
  /// A client that is registered for oidc-agent.
  struct Client: Equatable {
    var id: String
    var hasSecret = false
    var scope: String?
    var redirectURIs: [String] = []
  }

  struct Issuer: Equatable {
    /// The URL as oidc-agent has it, which may lack the slash at the end, or have one too many.
    var url: String
    var defaultAccount: String?
    var accounts: [String] = []
    var client: Client?
    /// Whether the issuer expects the parameter `audience` in place of `resource`; nil: unknown.
    var usesAudience: Bool?
    /// Whether the issuer is an OAuth server without OpenID Connect; nil: unknown.
    var isOAuth: Bool?
  }

  /// The maximum size of a file in bytes, and of the number of files in a folder.
  static let sizeLimit = 1 << 20
  static let maxFiles = 1000
  /// The maximum number of issuers that are read.
  static let maxIssuers = 1000

  private(set) var issuers: [Issuer] = []
  /// The place of each issuer, by the bytes of its URL without the slash at the end.
  private var places: [[UInt8]: Int] = [:]
  /// The names of the encrypted account files, sorted.
  private(set) var accounts: [String] = []
  /// Sentences about the files and entries that are not imported.
  private(set) var warnings: [String] = []

  /// - Parameters:
  ///   - folder: The user's folder, such as `~/.config/oidc-agent`.
  ///   - system: The folder of the machine, which adds to the user's issuers what it knows of them.
  init(_ folder: String, system: String) throws {
    var status = stat()
    guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw CommandFailure(
        "there is no folder \(folder)",
        hints: [
          "name the folder of oidc-agent: usherctl import "
            + "oidc-agent DIR"
        ])
    }
    readIssuers(in: folder, addsIssuers: true)
    readIssuers(in: system, addsIssuers: false)
    for place in [folder, system] { readPublicClients("\(place)/pubclients.config") }
    accounts = names(in: folder).filter(Self.isAccount).filter {
      Self.isRegularFile("\(folder)/\($0)")
    }
  }

  private static func isAccount(_ name: String) -> Bool {
    !name.hasPrefix(".") && name != "config" && !name.contains(".config")
      && !name.hasSuffix(".clientconfig") && !name.hasSuffix(".log")
  }

  // MARK: Files

  private static func isRegularFile(_ path: String) -> Bool {
    guard let status = try? Durable.status(path) else { return false }
    return status.st_mode & S_IFMT == S_IFREG
  }

  private mutating func names(in folder: String) -> [String] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    if all.count > Self.maxFiles {
      warnings.append("\(folder) has more than \(Self.maxFiles) files; the rest is left out")
    }
    return Array(all.sorted().prefix(Self.maxFiles))
  }

  /// Returns the text of a file; nil if there is none, or it is not fit to be read.
  private mutating func text(_ path: String) -> String? {
    do {
      guard let (file, _) = try Durable.openFile(path) else { return nil }
      let bytes = try file.read(atMost: Self.sizeLimit + 1)
      guard bytes.count <= Self.sizeLimit else {
        throw CommandFailure("\(path) is longer than \(Self.sizeLimit) bytes")
      }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFailure("\(path) is not text in UTF-8")
      }
      return text
    } catch {
      warn(error, path)
      return nil
    }
  }

  private mutating func warn(_ error: any Error, _ path: String) {
    let message = (error as? CommandFailure)?.lines.first ?? "\(path) cannot be read"
    warnings.append(message.replacing("usherctl: ", with: "") + ", and is left out")
  }

  // MARK: Issuers

  private mutating func readIssuers(in folder: String, addsIssuers: Bool) {
    if let text = text("\(folder)/issuer.config") {
      let first = text.first { !$0.isWhitespace }
      if first == "[" || first == "{" {
        read(json: text, "\(folder)/issuer.config", addsIssuers)
      } else if addsIssuers {
        // In the machine's file, other words than the name of an account follow the issuer.
        for line in text.split(whereSeparator: \.isNewline) { read(line: line) }
      }
    }
    let parts = "\(folder)/issuer.config.d"
    for name in names(in: parts) where !name.hasPrefix(".") {
      if let text = text("\(parts)/\(name)") { read(json: text, "\(parts)/\(name)", addsIssuers) }
    }
  }

  private mutating func read(line: Substring) {
    let words = line.split { $0 == " " || $0 == "\t" }.map(String.init)
    guard let url = words.first, !url.hasPrefix("#") else { return }
    var issuer = Issuer(url: url)
    if words.count > 1 {
      issuer.defaultAccount = words[1]
      issuer.accounts = [words[1]]
    }
    add(issuer, addsIssuers: true)
  }

  private mutating func read(json text: String, _ path: String, _ addsIssuers: Bool) {
    guard let value = try? JSONValue(parsing: text) else {
      warnings.append("\(path) is not JSON, and is left out")
      return
    }
    for item in value.arrayValue ?? [value] {
      guard let issuer = Issuer(item) else {
        warnings.append("\(path) has an entry without an issuer, which is left out")
        continue
      }
      add(issuer, addsIssuers: addsIssuers)
    }
  }

  /// Adds what is not known yet of an issuer. URLs that differ by the slash at the end are the
  /// same, as for oidc-agent.
  private mutating func add(_ issuer: Issuer, addsIssuers: Bool) {
    guard let place = place(of: issuer.url) else {
      guard addsIssuers else { return }
      guard issuers.count < Self.maxIssuers else {
        let warning = "there are more than \(Self.maxIssuers) issuers; the rest is left out"
        if warnings.last != warning { warnings.append(warning) }
        return
      }
      places[Array(issuer.url.withoutSlash.utf8)] = issuers.count
      issuers.append(issuer)
      return
    }
    var known = issuers[place]
    known.defaultAccount = known.defaultAccount ?? issuer.defaultAccount
    known.accounts += issuer.accounts.filter { !known.accounts.contains($0) }
    known.client = known.client ?? issuer.client
    known.usesAudience = known.usesAudience ?? issuer.usesAudience
    known.isOAuth = known.isOAuth ?? issuer.isOAuth
    issuers[place] = known
  }

  private func place(of url: String) -> Int? { places[Array(url.withoutSlash.utf8)] }

  // MARK: Public clients

  /// Reads lines of the form `client_id[:client_secret]@issuer[@scopes]`.
  private mutating func readPublicClients(_ path: String) {
    guard let text = text(path) else { return }
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      let parts = line.split(separator: "@", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count > 1 else { continue }
      let client = parts[0].split(separator: ":", maxSplits: 1)
      guard let id = client.first, let place = place(of: String(parts[1])),
        issuers[place].client == nil
      else { continue }
      issuers[place].client = Client(
        id: String(id), hasSecret: client.count > 1,
        scope: parts.count > 2 ? String(parts[2]) : nil)
    }
  }
}

extension OIDCAgentFolder.Issuer {
  fileprivate init?(_ value: JSONValue) {
    guard let url = (value["issuer"] ?? value["issuer_url"])?.stringValue, !url.isEmpty else {
      return nil
    }
    self.url = url
    defaultAccount = value["default_account"]?.stringValue
    accounts = (value["accounts"]?.arrayValue ?? []).compactMap(\.stringValue)
    if let defaultAccount, !accounts.contains(defaultAccount) { accounts.append(defaultAccount) }
    let clients = [value["user_client"], value["pubclient"]].compactMap(\.self)
    client = clients.lazy.compactMap { OIDCAgentFolder.Client($0) }.first
    usesAudience = value["legacy_aud_mode"]?.isTrue
    isOAuth = value["oauth"]?.isTrue
  }
}

extension OIDCAgentFolder.Client {
  fileprivate init?(_ value: JSONValue) {
    guard let id = value["client_id"]?.stringValue, !id.isEmpty else { return nil }
    self.id = id
    hasSecret = value["client_secret"]?.stringValue?.isEmpty == false
    scope = value["scope"]?.stringValue
    redirectURIs = (value["redirect_uris"]?.arrayValue ?? []).compactMap(\.stringValue)
  }
}

extension JSONValue {
  /// Whether the value is true, which oidc-agent also writes as 1 or "1".
  fileprivate var isTrue: Bool {
    boolValue ?? (numberValue == 1 || ["1", "true"].contains(stringValue))
  }
}

extension String {
  fileprivate var withoutSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
