package import UsherCore

/// The contract by which a tool asks for a credential, as a word such as `git` or `docker`.
///
/// The words are not a closed list: a new contract needs no change of the daemon.
package struct TargetKind: CodedAsText, Hashable, Sendable {
  package let text: String

  package init(setting text: String) throws(SettingError) {
    let isWord = text.consists(upTo: 32) {
      ($0.isLetter && $0 & 0x20 != 0) || $0.isOne(of: "-0123456789")
    }
    guard isWord, text.utf8.first?.isLetter == true else {
      throw SettingError("must be up to 32 of a-z 0-9 - and begin with a letter")
    }
    self.text = text
  }

  package var settingText: String { text }
}

/// What a tool asks a credential for: the kind of its contract, and a name such as a URL, the host
/// of a registry, or `till.service/api-token`.
package struct TargetName: Hashable, Sendable {
  /// The name in the form in which it is compared.
  enum Form: Hashable, Sendable {
    case url(TargetURL)
    /// A name that is no URL: its segments, between slashes.
    case plain([String])
  }

  package let kind: TargetKind
  let form: Form

  /// - Throws: `invalidParams` with field `kind` or `name`. A name must be printable ASCII, at most
  ///   1024 bytes or, for a URL, 2048. A name that is no URL must have no star.
  package init(kind: String, name: String) throws(UsherError) {
    do throws(SettingError) {
      self.kind = try TargetKind(setting: kind)
    } catch {
      throw UsherError(.invalidParams, "kind \(error.message)", field: "kind")
    }
    do throws(SettingError) {
      form = try Self.form(of: name)
    } catch {
      throw UsherError(.invalidParams, "name \(error.message)", field: "name")
    }
  }

  private static func form(of name: String) throws(SettingError) -> Form {
    if name.contains("://") { return .url(try TargetURL(name)) }
    // As a pattern, which errors advise, such a name would match other names too.
    guard !name.contains("*") else { throw SettingError("must have no star") }
    return .plain(try TargetMatch.segments(of: name))
  }

  /// The kind and the name, such as `git/https://git.example/team`.
  package var text: String { "\(kind.text)/\(name)" }

  private var name: String {
    switch form {
    case .url(let url): url.text
    case .plain(let segments): segments.joined(separator: "/")
    }
  }

  /// A pattern that matches the name, for the advice of an error: all paths of the URL's host, or
  /// the name itself.
  package var suggestedMatch: String {
    switch form {
    case .url(let url): "\(url.origin)/*"
    case .plain: name
    }
  }
}

/// The pattern `match` of a target.
///
/// A pattern with `://` matches only URLs: see ``TargetURLPattern``. Any other pattern matches only
/// names without `://`, case-sensitively; `*` stands for any characters except `/`, or for none.
package struct TargetMatch: CodedAsText, Hashable, Sendable {
  private enum Form: Hashable, Sendable {
    case url(TargetURLPattern)
    case plain([Glob])
  }

  package let settingText: String
  private let form: Form

  package init(setting text: String) throws(SettingError) {
    settingText = text
    form =
      text.contains("://")
      ? .url(try TargetURLPattern(text))
      : .plain(try Self.segments(of: text).map { Glob(text: $0) })
  }

  package func matches(_ name: TargetName) -> Bool {
    switch (form, name.form) {
    case (.url(let pattern), .url(let url)): pattern.matches(url)
    case (.plain(let globs), .plain(let segments)): Self.match(globs, segments)
    case (.url, .plain), (.plain, .url): false
    }
  }

  /// Returns whether the pattern matches every name that another pattern matches. If it says no, it
  /// may still do so.
  func covers(_ other: TargetMatch) -> Bool {
    switch (form, other.form) {
    case (.url(let pattern), .url(let other)): pattern.covers(other)
    // A star of the other pattern is compared as a character, which only a star matches.
    case (.plain(let globs), .plain(let others)): Self.match(globs, others.map(\.text))
    case (.url, .plain), (.plain, .url): false
    }
  }

  private static func match(_ globs: [Glob], _ segments: [String]) -> Bool {
    globs.count == segments.count && zip(globs, segments).allSatisfy { $0.matches($1) }
  }

  /// Returns the segments of a name that is no URL, or of a pattern for such names.
  fileprivate static func segments(of text: String) throws(SettingError) -> [String] {
    guard text.consists(upTo: 1024, of: \.isVisible) else {
      throw SettingError("must be up to 1024 bytes of printable ASCII without spaces")
    }
    let segments = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard segments.allSatisfy({ $0 != "." && $0 != ".." }) else {
      throw SettingError("must have no segment \".\" or \"..\"")
    }
    return segments
  }
}

/// The targets that a pattern of a client rule names: `KIND` or `KIND/MATCH`.
package struct TargetPattern: Hashable, Sendable {
  private let kind: TargetKind
  /// The pattern for the names; nil for all names of the kind.
  private let match: TargetMatch?

  package init(setting text: String) throws(SettingError) {
    let word = text.prefix { $0 != "/" }
    kind = try TargetKind(setting: String(word))
    match =
      try word.endIndex == text.endIndex
      ? nil : TargetMatch(setting: String(text[word.endIndex...].dropFirst()))
  }

  package var settingText: String {
    match.map { "\(kind.text)/\($0.settingText)" } ?? kind.text
  }

  func matches(_ name: TargetName) -> Bool {
    name.kind == kind && match.map { $0.matches(name) } ?? true
  }

  /// Returns whether the pattern surely matches a name that the target answers.
  func overlaps(_ target: TargetConfig) -> Bool {
    guard target.kind == kind else { return false }
    guard let match else { return true }
    return match.covers(target.match) || target.match.covers(match)
  }
}
