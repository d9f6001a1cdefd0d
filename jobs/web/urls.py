"""Addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from jobs.live.streams import job_stream
from jobs.web.views import gallery, health, home, jobs, notices, pictures, sign_in, theme

urlpatterns = [
    path("", home.home, name="home"),
    path("images/new", pictures.new_picture, name="new_picture"),
    path("images/<uuid:picture_id>", pictures.picture_page, name="picture"),
    path("images/<uuid:picture_id>/file", pictures.picture_file, name="picture_file"),
    path("images/<uuid:picture_id>/small", pictures.picture_thumbnail, name="picture_thumbnail"),
    path("jobs/<uuid:job_id>", jobs.job_page, name="job"),
    path("jobs/<uuid:job_id>/stream", job_stream, name="job_stream"),
    path("jobs/<uuid:job_id>/cancel", jobs.cancel_job, name="cancel_job"),
    path("jobs/<uuid:job_id>/stop-waiting", jobs.stop_waiting, name="stop_waiting"),
    path("jobs/<uuid:job_id>/mail", notices.mail_notice, name="mail_notice"),
    path("jobs/<uuid:job_id>/delete", jobs.delete_result, name="delete_result"),
    path("gallery", gallery.gallery, name="gallery"),
    path("theme", theme.set_theme, name="set_theme"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("sign-in", sign_in.SignIn.as_view(), name="sign_in"),
    path("sign-out", LogoutView.as_view(next_page="home"), name="sign_out"),
]
