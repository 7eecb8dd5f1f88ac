/// A client id that is the address of a document with the client's metadata, so that a provider
/// needs no registration (draft-ietf-oauth-client-id-metadata-document).
package enum ClientDocument {
  /// Returns why a client id cannot be such an address, as the end of a sentence that begins with
  /// the setting; nil if it can.
  ///
  /// It must be an https URL with a path, and have no fragment, user name, password or dot segment
  /// (§2 of the draft). Otherwise a provider takes it for the name of a registered client.
  package static func violation(_ clientID: String) -> String? {
    let parts: URLParts
    do throws(SettingError) {
      parts = try URLParts(clientID)
    } catch {
      return error.message
    }
    guard clientID.hasPrefix("https://") else { return "must be an https URL" }
    guard parts.path.utf8.count > 1 else { return "must have a path" }
    let segments = parts.path.lowercased().split(separator: "/", omittingEmptySubsequences: false)
    let dots: Set<String> = [".", "..", "%2e", "%2e%2e", ".%2e", "%2e."]
    guard !segments.contains(where: { dots.contains(String($0)) }) else {
      return "must have no path segment \".\" or \"..\""
    }
    return nil
  }
}

extension OIDCSettings {
  /// Whether the client id is the address of a document with the client's metadata. An operator may
  /// also have registered a client with such an id.
  package var hasClientDocument: Bool { ClientDocument.violation(clientID) == nil }
}
