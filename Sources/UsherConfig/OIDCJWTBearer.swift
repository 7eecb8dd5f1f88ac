/// The section `[provider.jwt_bearer]`: how the daemon gets tokens without a user, by assertions
/// (RFC 7523 §2.1) that it signs, as for the service accounts of Google, or that another program
/// writes into a file, as for workloads in Kubernetes.
package struct OIDCJWTBearer: SettingsSection {
  /// The name of the private key in the credential store; nil means that the daemon signs nothing.
  package var keyCredential: String?
  /// The path of the file with the assertion, which is read anew each time; nil means that there is
  /// none. The assertion says whom the tokens are for.
  package var assertionFile: String?
  /// The id under which the provider knows the key; nil means the key's thumbprint (RFC 7638).
  package var keyID: String?
  /// The issuer of the assertions; nil means the client id.
  package var issuer: String?
  /// The audience of the assertions; nil means the provider's issuer identifier.
  package var audience: String?
  /// The subjects that a caller may name. Without a name, the subject is the issuer of the
  /// assertion.
  package var subjects: [String] = []
  /// Whether the scope is a claim of the assertion, as at Google, instead of a parameter.
  package var scopeInAssertion = false

  package static var blank: OIDCJWTBearer { OIDCJWTBearer() }

  /// Whether there are such tokens.
  package var isConfigured: Bool { keyCredential != nil || assertionFile != nil }

  package mutating func bind(_ table: SettingsTable) {
    table.setting(&keyCredential, "key_credential", violation: \.credentialViolation)
    table.setting(&assertionFile, "assertion_file", violation: \.pathViolation)
    table.setting(&keyID, "key_id") { $0.visibleViolation(upTo: 1024) }
    table.setting(&issuer, "issuer") { $0.visibleViolation(upTo: 1024) }
    table.setting(&audience, "audience") { $0.visibleViolation(upTo: 1024) }
    table.setting(&subjects, "subjects") { subjects in
      subjects.lazy.compactMap { $0.visibleViolation(upTo: 255) }.first
    }
    table.setting(&scopeInAssertion, "scope_in_assertion")
    guard let assertionFile else {
      if keyCredential == nil, self != .blank {
        table.reportProblem("key_credential", "is missing")
      }
      return
    }
    var alone = OIDCJWTBearer.blank
    alone.assertionFile = assertionFile
    if self != alone {
      table.reportProblem(
        "assertion_file",
        "must be the only setting of jwt_bearer: the others are for assertions "
          + "that the daemon signs")
    }
  }

  /// Returns the subject of a token: the one that a caller names, or else the issuer of the
  /// assertion.
  package func subject(named: String?, clientID: String) -> String { named ?? issuer ?? clientID }

  /// Whether the daemon may get a token for a subject. With ``assertionFile`` there is one account,
  /// whose subject is the client id.
  package func permits(_ subject: String, clientID: String) -> Bool {
    let permitted = [self.subject(named: nil, clientID: clientID)] + subjects
    return isConfigured && permitted.contains { $0.utf8.elementsEqual(subject.utf8) }
  }
}
