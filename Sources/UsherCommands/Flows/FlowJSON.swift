import JSONRPC

extension JSONValue {
  /// The reply for printing, with `<secret>` in place of the code verifier and the credential code
  /// in the flow's step.
  var withoutStepSecrets: JSONValue {
    var reply = self
    let step = self["flow"]?["step"]
    if step?["codeVerifier"] != nil { reply["flow"]?["step"]?["codeVerifier"] = "<secret>" }
    if step?["credential"]?["code"] != nil {
      reply["flow"]?["step"]?["credential"]?["code"] = "<secret>"
    }
    return reply
  }
}
