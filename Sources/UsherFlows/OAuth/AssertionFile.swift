import JSONRPC
package import UsherConfig
package import UsherCore

/// An assertion that another program has written into a file, such as the token of a workload in
/// Kubernetes: the daemon presents it as a grant (RFC 7523 §2.1) or as the authentication of the
/// client (§2.2), and knows no key of its issuer.
package struct AssertionFile {
  /// The assertion: a JWT.
  let assertion: Secret
  /// When the assertion ends; nil if it has no `exp`.
  package let endsAt: Timestamp?

  /// Checks the text of a file. Anything but a JWT is refused, so that a wrong path sends no other
  /// file to the provider. The signature is for the provider to verify.
  ///
  /// - Throws: `internalError` if the text is no JWT, `providerRejected` if the assertion has ended
  ///   by the local clock; the sentence names the file.
  package init(_ text: Secret, at path: String, now: Timestamp) throws(UsherError) {
    guard let claims = JSONWebToken.claims(of: text) else {
      throw UsherError(.internalError, "the file \(path) has no assertion in it: it is not a JWT")
    }
    assertion = text
    endsAt = claims["exp"]?.numericDate
    if let endsAt, endsAt <= now {
      throw UsherError(
        .providerRejected,
        "the assertion in the file \(path) ended at \(endsAt); check the program that renews it")
    }
  }
}

extension RenderContext {
  /// Returns the assertion in a file that the provider's configuration names.
  func assertion(inFile path: String) throws(UsherError) -> Secret {
    guard let text = files[path] else {
      throw UsherError(.internalError, "the file \(path) was not read")
    }
    return try AssertionFile(text, at: path, now: transition.now).assertion
  }
}

extension OIDCCall {
  package func secretFiles(_ settings: OIDCSettings) -> [String] {
    var files = authenticatesClient ? [settings.clientAssertionFile] : []
    if case .jwtBearer(let request, _) = unbound, request.identity == nil {
      files.append(settings.jwtBearer.assertionFile)
    }
    return files.compactMap(\.self)
  }
}
