import UsherAPI
package import UsherCore

/// A `[[target]]` of the configuration: the account whose token answers a tool that asks for
/// certain names. The first target in the order of the files that matches a name answers.
package struct TargetConfig: SettingsSection {
  /// The maximum number of targets, because each call of a tool compares its name with them.
  static let maxCount = 1000

  package var kind: TargetKind
  package var match: TargetMatch
  /// The provider at which the caller's only account answers; nil if ``account`` is set.
  package var provider: ProviderName?
  /// The account that answers; nil if ``provider`` is set.
  package var account: AccountID?
  /// The scope of the token; nil means the whole granted scope.
  package var scope: String?
  /// The audience of the token; nil means none.
  package var audience: String?
  /// The token that is returned.
  package var field = Field.accessToken
  /// The user name that a tool sends with the token; nil if it needs none.
  package var username: String?

  /// The token that a target returns.
  package enum Field: String, TextSetting, Codable, CaseIterable, Sendable {
    case accessToken
    case idToken
  }

  package static var blank: TargetConfig { TargetConfig() }

  private init() {
    do throws(SettingError) {
      kind = try TargetKind(setting: "blank")
      match = try TargetMatch(setting: "blank")
    } catch {
      preconditionFailure("the blank target is valid")
    }
  }

  package mutating func bind(_ table: SettingsTable) {
    table.required(&kind, "kind")
    table.required(&match, "match")
    table.setting(&provider, "provider")
    table.setting(&account, "account") { account in
      let isID =
        account.rawValue.hasPrefix("acc_")
        && account.rawValue.consists(upTo: 64, of: \.isWordByte)
      return isID ? nil : "must be an account's id, \"acc_…\""
    }
    table.setting(&scope, "scope") { scope in
      let words = scope.split(separator: " ", omittingEmptySubsequences: false)
      return words.allSatisfy { String($0).consists(upTo: 256, of: \.isScopeByte) }
        ? nil : "must be scopes with one space between them"
    }
    table.setting(&audience, "audience") { $0.isAudience ? nil : "must be the audience of a token" }
    table.setting(&field, "field")
    table.setting(&username, "username", violation: Self.violation(username:))
    let isProviderGiven = provider != nil || table.position(of: "provider") != nil
    let isAccountGiven = account != nil || table.position(of: "account") != nil
    if isProviderGiven == isAccountGiven {
      table.reportProblem("provider", "a target needs either provider or account")
    }
    if field == .idToken {
      for (key, isSet) in [("scope", scope != nil), ("audience", audience != nil)] where isSet {
        table.reportProblem(key, "must be absent: an ID token has no \(key) that can be chosen")
      }
    }
  }

  /// Returns why a tool cannot send a user name; nil if it can. A colon would end the name (RFC
  /// 7617 §2), and Docker takes the secret of the user `<token>` for a refresh token.
  private static func violation(username: String) -> String? {
    guard username.consists(upTo: 256, of: { $0.isVisible && $0 != UInt8(ascii: ":") }) else {
      return "must be up to 256 bytes of printable ASCII without spaces and colons"
    }
    return username == "<token>" ? "must be another name than \"<token>\"" : nil
  }

  /// The kind and the pattern, such as `git/https://git.example/*`.
  package var text: String { "\(kind.text)/\(match.settingText)" }

  /// The kind of the token for a client rule: `idToken`, or nil for an access token.
  package var tokenKind: String? { field == .idToken ? TokenGet.Field.idToken.rawValue : nil }

  /// The scope of the token for a client rule; nil for the whole granted scope.
  package var tokenScope: String? { field == .idToken ? "openid" : scope }

  package func matches(_ name: TargetName) -> Bool { name.kind == kind && match.matches(name) }
}

extension AccountID: TextSetting {
  package init(setting text: String) throws(SettingError) { self.init(rawValue: text) }
  package var settingText: String { rawValue }
}

extension Config {
  /// Returns the target that answers a name: the first one in the order of the files that matches.
  package func target(for name: TargetName) -> TargetConfig? {
    targets.first { $0.matches(name) }
  }

  /// Settings that have no effect, although they are valid: targets that never answer, because an
  /// earlier target answers all of their names. The daemon runs with them.
  package var warnings: [ConfigProblem] {
    targets.indices.compactMap { place in
      let target = targets[place]
      let earlier = targets[..<place].firstIndex { earlier in
        earlier.kind == target.kind && earlier.match.covers(target.match)
      }
      return earlier.map { earlier in
        let position = sources["target[\(earlier)]"].map { " at \($0)" } ?? ""
        return problem(
          "target[\(place)].match",
          "never answers: an earlier target\(position) answers all of its names; "
            + "put the more specific target first")
      }
    }
  }

  /// Reports a target whose provider is not configured.
  func refuseUnknownTargetProviders(_ table: SettingsTable) {
    if targets.count > TargetConfig.maxCount {
      table.reportProblem("target", "must be at most \(TargetConfig.maxCount) targets")
    }
    guard table.isComplete else { return }
    var known = KnownNames("provider", providers.map(\.name.rawValue))
    for (place, target) in targets.enumerated() {
      guard let refusal = target.provider.flatMap({ known.refusal(of: $0.rawValue) }) else {
        continue
      }
      table.reportProblem("target[\(place)].provider", refusal)
    }
  }
}
