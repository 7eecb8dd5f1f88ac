import FoundationEssentials

/// Checks for existing registrations, and verification of contacts by numbers.
extension BSABackend {
  func duplicateCheck(_ call: EndpointCall) async -> Reply {
    await envelope("duplicateCheck", call) {
      let sent = try BSAParameters(call)
      let contact = try sent.contact(try sent.kind("verifyType"), "verifyData")
      guard !members.has(contact) else { throw BSARefusal.contactTaken }
      return nil
    }
  }

  func idCheck(_ call: EndpointCall) async -> Reply {
    await envelope("idCheck", call) {
      guard members[try BSAParameters(call).userKey()] == nil else {
        throw BSARefusal.userKeyTaken
      }
      return nil
    }
  }

  func mail(_ call: EndpointCall) async -> Reply {
    await envelope("mail", call) {
      let sent = try BSAParameters(call)
      let contact = try sent.contact(.email, "email")
      _ = try sent.choice("emailType", of: ["HTML"])
      try await send(to: contact)
      return nil
    }
  }

  func sms(_ call: EndpointCall) async -> Reply {
    await envelope("sms", call) {
      try await send(to: try BSAParameters(call).contact(.phone, "phoneNum"))
      return nil
    }
  }

  func verifyMail(_ call: EndpointCall) async -> Reply {
    await envelope("mailVerify", call) { try verify(.email, "email", call) }
  }

  func verifySMS(_ call: EndpointCall) async -> Reply {
    await envelope("smsVerify", call) { try verify(.phone, "phoneNum", call) }
  }

  private func verify(_ kind: MemberContact.Kind, _ name: String, _ call: EndpointCall) throws
    -> JSON
  {
    let sent = try BSAParameters(call)
    let contact = try sent.contact(kind, name)
    let number = try sent.required("authNum")
    let token = try contacts.verify(number, of: contact, settings, now: context.clock.now())
    guard let token else { return ["result": false] }
    return ["result": true, "disposeToken": .string(token)]
  }

  func send(to contact: MemberContact) async throws(BSARefusal) {
    let code = try contacts.number(for: contact, settings, now: context.clock.now())
    await context.outbox.post(contact.message(code, settings))
  }
}
