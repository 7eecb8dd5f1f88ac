extension OIDCSettings {
  /// The paths of the files with assertions that other programs write.
  package var assertionFiles: [String] {
    [clientAssertionFile, jwtBearer.assertionFile].compactMap(\.self)
      .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// Checks that no other setting contradicts the files with assertions. The daemon cannot register
  /// a client whose key it does not know.
  func checkFiles(_ table: SettingsTable) {
    if clientAssertionFile != nil, clientCredential != nil || clientAuth != .auto {
      table.reportProblem(
        "client_assertion_file", "must stand without client_credential and client_auth")
    }
    if clientID.isEmpty, !assertionFiles.isEmpty {
      table.reportProblem(
        clientAssertionFile == nil ? "jwt_bearer.assertion_file" : "client_assertion_file",
        "needs client_id")
    }
  }
}
